"""How many digits the minor unit of a currency has (ISO 4217, list one)."""

from fractions import Fraction
from typing import Final

_NONE: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_TWO: Final = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP
BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR
FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR
KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV
MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR
SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH
USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG
"""
_THREE: Final = "BHD IQD JOD KWD LYD OMR TND"
_FOUR: Final = "CLF UYW"

MINOR_DIGITS: Final = {
    currency: digits
    for digits, currencies in ((0, _NONE), (2, _TWO), (3, _THREE), (4, _FOUR))
    for currency in currencies.split()
}
"""Digits after the point, by currency: 2 for USD, 0 for JPY, 3 for KWD."""


def to_minor(amount: Fraction, currency: str) -> int | None:
    """Return `amount` in minor units, or None when it is no whole number of them.

    Raises:
        KeyError: the currency has no minor unit that we know.
    """
    minor = amount * 10 ** MINOR_DIGITS[currency]
    return minor.numerator if minor.denominator == 1 else None
