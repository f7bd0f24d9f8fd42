"""Programs of the user's in the hosts of a network in virtual time, driven step by step."""
