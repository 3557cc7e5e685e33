"""The names of time zones that ``SimpleDateFormat`` reads in English, and the hours by which they are ahead of UTC.

Java takes the first zone that has a name, whatever is meant: ``IST`` is Israel's, ``CST`` America's. It counts by the
rules that this zone had on the day; here are the names whose hours have been the same since 1995, and ``MSK``, ``WET``
and ``WEST`` as they are now.
"""

from __future__ import annotations

_NAMES = {
    -11: "NUST, NUT, SDT, SST, Niue Summer Time, Niue Time, Samoa Daylight Time, Samoa Standard Time",
    -10: (
        "CKHST, CKT, HAST, HDT, HST, TAHST, TAHT, Cook Islands Half Summer Time, Cook Islands Standard Time, "
        "Hawaii Standard Time, Hawaii-Aleutian Daylight Time, Hawaii-Aleutian Standard Time, Tahiti Summer Time, "
        "Tahiti Time"
    ),
    -9.5: "MARST, MART, Marquesas Summer Time, Marquesas Time",
    -9: "AKST, GAMST, GAMT, HADT, Alaska Standard Time, Gambier Summer Time, Gambier Time",
    -8: "AKDT, PST, Alaska Daylight Time, Northwest Mexico Standard Time, Pacific Standard Time, Pitcairn Time",
    -7: (
        "MST, PDT, Mexican Pacific Standard Time, Mountain Standard Time, Northwest Mexico Daylight Time, Pacific "
        "Daylight Time"
    ),
    -6: ("CST, GALST, GALT, MDT, Central Standard Time, Galapagos Summer Time, Galapagos Time, Mountain Daylight Time"),
    -5: (
        "CDT, COST, COT, EASST, ECST, ECT, EST, PEST, PET, Central Daylight Time, Colombia Standard Time, "
        "Colombia Summer Time, Cuba Standard Time, Eastern Standard Time, Ecuador Summer Time, Ecuador Time, Peru "
        "Standard Time, Peru Summer Time"
    ),
    -4: (
        "AST, BOST, BOT, CLT, EDT, GYST, GYT, Amazon Standard Time, Atlantic Standard Time, Bolivia Summer Time, "
        "Bolivia Time, Chile Standard Time, Cuba Daylight Time, Eastern Daylight Time, Guyana Summer Time, Guyana "
        "Time"
    ),
    -3.5: "NST, Newfoundland Standard Time",
    -3: (
        "ADT, BRT, CLST, GFST, GFT, GMT-03:00, PMST, ROTST, ROTT, SRST, SRT, UYT, Atlantic Daylight Time, "
        "Brasilia Standard Time, Chile Summer Time, French Guiana Summer Time, French Guiana Time, Rothera Summer "
        "Time, Rothera Time, St. Pierre & Miquelon Standard Time, Suriname Summer Time, Suriname Time, Uruguay "
        "Standard Time"
    ),
    -2.5: "NDT, Newfoundland Daylight Time",
    -2: (
        "FNT, PMDT, Fernando de Noronha Standard Time, South Georgia Daylight Time, South Georgia Time, St. "
        "Pierre & Miquelon Daylight Time"
    ),
    -1: "AZOT, CVST, CVT, Azores Standard Time, Cape Verde Standard Time, Cape Verde Summer Time",
    0: (
        "AZOST, GHST, GMT, UTC, WET, Azores Summer Time, Coordinated Universal Time, Ghana Summer Time, Greenwich "
        "Mean Time, Western European Standard Time"
    ),
    1: (
        "BST, CET, MET, WAST, WAT, WEST, British Summer Time, Central European Standard Time, Central European "
        "Time, Irish Standard Time, Middle Europe Time, West Africa Standard Time, West Africa Summer Time, "
        "Western European Summer Time"
    ),
    2: (
        "CAST, CAT, CEST, EET, IST, MEST, SAST, Central Africa Time, Central African Summer Time, Central "
        "European Summer Time, Eastern European Standard Time, Israel Standard Time, Middle Europe Summer Time, "
        "South Africa Standard Time, South Africa Summer Time"
    ),
    3: (
        "EAST, EAT, EEST, IDT, MSK, SYOST, SYOT, Arabian Daylight Time, Arabian Standard Time, East Africa Time, "
        "Eastern African Summer Time, Eastern European Summer Time, Israel Daylight Time, Syowa Summer Time, "
        "Syowa Time"
    ),
    3.5: "IRST, Iran Standard Time",
    4: (
        "AZT, GDT, GMT+04:00, GST, MUT, REST, RET, SCST, SCT, Azerbaijan Standard Time, Gulf Daylight Time, Gulf "
        "Standard Time, Mauritius Standard Time, Reunion Summer Time, Réunion Time, Seychelles Summer Time, "
        "Seychelles Time"
    ),
    4.5: "AFST, AFT, Afghanistan Summer Time, Afghanistan Time",
    5: (
        "GMT+05:00, MVST, MVT, PKT, TFST, TFT, TJST, TJT, TMST, TMT, UZST, UZT, French Southern & Antarctic Lands "
        "Summer Time, French Southern & Antarctic Time, Maldives Summer Time, Maldives Time, Pakistan Standard "
        "Time, Tajikistan Summer Time, Tajikistan Time, Turkmenistan Standard Time, Turkmenistan Summer Time, "
        "Uzbekistan Standard Time, Uzbekistan Summer Time, West Kazakhstan Time"
    ),
    5.75: "NPST, NPT, Nepal Summer Time, Nepal Time",
    6: (
        "BDT, BTST, BTT, XJDT, XJT, Bangladesh Standard Time, Bhutan Summer Time, Bhutan Time, Xinjiang Daylight "
        "Time, Xinjiang Standard Time"
    ),
    6.5: "CCST, CCT, MMST, MMT, Cocos Islands Summer Time, Cocos Islands Time, Myanmar Summer Time, Myanmar Time",
    7: (
        "CXST, CXT, GMT+07:00, HOVT, ICST, ICT, WIB, WIST, Christmas Island Summer Time, Christmas Island Time, "
        "Hovd Standard Time, Indochina Summer Time, Indochina Time, West Indonesia Summer Time, Western Indonesia "
        "Time"
    ),
    8: (
        "AWST, BNST, BNT, CHOT, CIST, HKST, HKT, MYST, MYT, SGST, SGT, ULAT, Australian Western Standard Time, "
        "Brunei Darussalam Time, Brunei Summer Time, Central Indonesia Summer Time, Central Indonesia Time, China "
        "Daylight Time, China Standard Time, Hong Kong Standard Time, Hong Kong Summer Time, Malaysia Summer "
        "Time, Malaysia Time, Philippine Standard Time, Philippine Summer Time, Singapore Standard Time, "
        "Singapore Summer Time, Taipei Daylight Time, Taipei Standard Time, Ulaanbaatar Standard Time"
    ),
    8.75: "ACWST, Australian Central Western Standard Time",
    9: (
        "EIST, JDT, JST, KDT, KST, PWST, PWT, WIT, Japan Daylight Time, Japan Standard Time, Korean Daylight "
        "Time, Korean Standard Time, Palau Summer Time, Palau Time"
    ),
    9.5: "ACDT, ACST, Australian Central Daylight Time, Australian Central Standard Time",
    10: (
        "AEST, CHUST, CHUT, ChDT, ChST, DDUST, DDUT, PGST, PGT, Australian Eastern Standard Time, Chamorro "
        "Daylight Time, Chamorro Standard Time, Chuuk Summer Time, Chuuk Time, Dumont-d'Urville Summer Time, "
        "Dumont-d’Urville Time, Papua New Guinea Summer Time, Papua New Guinea Time"
    ),
    10.5: "LHST, Lord Howe Standard Time",
    11: (
        "AEDT, LHDT, NCT, PONST, PONT, SBST, SBT, VUST, VUT, Australian Eastern Daylight Time, Lord Howe Daylight "
        "Time, New Caledonia Standard Time, Pohnpei Summer Time, Ponape Time, Solomon Is. Summer Time, Solomon "
        "Islands Time, Vanuatu Standard Time, Vanuatu Summer Time"
    ),
    12: (
        "FJT, GILST, GILT, MHST, MHT, NRST, NRT, NZST, TVST, TVT, WAKST, WAKT, WFST, WFT, Fiji Standard Time, "
        "Gilbert Is. Summer Time, Gilbert Islands Time, Marshall Islands Summer Time, Marshall Islands Time, "
        "Nauru Summer Time, Nauru Time, New Zealand Standard Time, Tuvalu Summer Time, Tuvalu Time, Wake Island "
        "Time, Wake Summer Time, Wallis & Futuna Summer Time, Wallis & Futuna Time"
    ),
    12.75: "CHAST, Chatham Standard Time",
    13: (
        "GMT+13:00, NZDT, PHOST, PHOT, TOT, Kanton Daylight Time, Kanton Standard Time, New Zealand Daylight "
        "Time, Phoenix Is. Summer Time, Phoenix Islands Time, Tonga Standard Time"
    ),
    13.75: "CHADT, Chatham Daylight Time",
    14: "LINST, LINT, Line Is. Summer Time, Line Islands Time",
}
"""By hours."""

_OFFSETS = {name.lower(): int(hours * 3_600_000) for hours, names in _NAMES.items() for name in names.split(", ")}
_LONGEST = max(map(len, _OFFSETS))


def zone_at(text: str, begin: int) -> tuple[int, int] | None:
    """The length of the longest name that stands in a text at this place, in any case, and its offset in milliseconds;
    None if there is none.
    """
    rest = text[begin : begin + _LONGEST].lower()
    for length in range(len(rest), 0, -1):
        if (offset := _OFFSETS.get(rest[:length])) is not None:
            return length, offset
    return None
