"""The documentation as a site: pages of docs/, generated reference, gallery."""
