"""The dashboards' custom widgets: each reads what it shows, and draws it. Nothing here changes anything."""
