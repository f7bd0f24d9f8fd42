"""What is taught: one folder per lab with its text, questions and key; variants, hand-ins,
grading.
"""
