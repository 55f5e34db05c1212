"""The timetable: starts jobs and housekeeping at their times."""
