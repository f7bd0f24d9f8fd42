"""What both testbeds share: the code that travels, a job followed from outside, its terminal."""
