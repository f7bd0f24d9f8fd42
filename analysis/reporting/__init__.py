"""What a study reports with: tables, answers, their wording, and pictures."""
