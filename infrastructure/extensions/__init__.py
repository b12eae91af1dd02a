"""What other packages bring, found by their entry points: job kinds and a panel.

entry points ─► loaded one by one ─► looked at (application.admission) ─► a worker
                     └ whatever is wrong is told whole; with one fault, none starts
"""
