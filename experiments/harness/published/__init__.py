"""Published numbers as data: values, their settings, and reasons for differences."""
