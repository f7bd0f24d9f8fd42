"""The lab about ECN and RED."""
