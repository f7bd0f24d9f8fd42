"""This computer: its packages and capacity, the user behind sudo, and what processes take."""
