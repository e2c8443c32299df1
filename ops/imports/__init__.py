"""Files of customers, activity and reminders into the tables: bad lines are reported, good ones kept."""
