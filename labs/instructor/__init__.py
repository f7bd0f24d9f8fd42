"""What an instructor does before a lab is given out: look at it, check it, begin a new one."""
