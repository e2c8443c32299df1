"""The dashboards' custom widgets as HTML: what was asked, what there is to press, how it is drawn. Reads nothing."""
