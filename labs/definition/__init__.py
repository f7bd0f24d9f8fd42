"""What a lab and an assignment are: specs, variants, numbers, and the sheet of answers."""
