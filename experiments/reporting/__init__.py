"""Reports of studies, figures, bundles and pages of finished runs."""
