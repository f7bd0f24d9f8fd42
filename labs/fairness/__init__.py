"""The lab about fairness."""
