"""The lab about a congestion control of one's own, next to CUBIC and over links that change."""
