"""This computer: packages, capacity, who typed sudo, and what processes take."""
