"""What all lists have in common: how they are asked, and how a page is answered.

?f=state:retryable&limit=50&cursor=…&sort=createdAt&count=capped&atPosition=4711
{"items": […], "page": {"next": "…", "prev": null, "limit": 50},
 "count": null, "asOf": {"position": "4711", "at": "…"}}
"""
