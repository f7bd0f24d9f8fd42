"""What is taught: a folder for each lab, and variants, hand-ins and grading."""
