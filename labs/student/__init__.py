"""The student's side: start, run, check, pack."""
