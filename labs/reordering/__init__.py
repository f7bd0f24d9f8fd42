"""The lab about reordering."""
