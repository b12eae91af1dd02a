"""The contract: the OpenAPI document, made of what the routes declare.

Routes say which problems they answer and which headers they want (`api.http.route`);
the structs that are decoded and encoded say what bodies hold.  Nothing is said twice.
"""

from api.http.contract.routes import routes

__all__ = ["routes"]
