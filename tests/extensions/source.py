"""Modules of somebody else's packages."""

KIND = """
import msgspec
from counterfoil import Completed, JobKind

class Args(msgspec.Struct):
    n: int = 0

def done(args, ctx):
    return Completed(result={"n": args.n})

def named(name, **more):
    return JobKind(name=name, args=Args, handler=done, **more)
"""
"""What most of them begin with."""

MAIL = KIND + 'MAIL = named("mail", queue="bulk")\n'
