"""Units of measurement, currencies and scale words, as exact factors of a base unit.

Only units that answers on the web use; a unit that is not here makes a number plain, with a noun behind it.
"""

from __future__ import annotations

from fractions import Fraction

F = Fraction
_TABLE: dict[str, tuple[str, Fraction | int, str]] = {
    # dimension, factor, spellings
    "m": ("length", 1, "m metre meter metres meters mètres metros"),
    "km": ("length", 1000, "km kms kilometre kilometer kilometres kilometers kilomètres kilómetros"),
    "cm": ("length", F(1, 100), "cm centimetre centimeter centimetres centimeters zentimeter"),
    "mm": ("length", F(1, 1000), "mm millimetre millimeter millimetres millimeters"),
    "um": ("length", F(1, 10**6), "µm μm micrometre micrometer micrometres micrometers microns micron"),
    "nm": ("length", F(1, 10**9), "nm nanometre nanometer nanometres nanometers"),
    "mi": ("length", F(1609344, 1000), "mi mile miles Meilen"),
    "nmi": ("length", 1852, "nmi nautical_mile nautical_miles"),
    "ft": ("length", F(3048, 10000), "ft foot feet"),
    "in": ("length", F(254, 10000), "inch inches"),
    "yd": ("length", F(9144, 10000), "yd yds yard yards"),
    "ly": ("length", 9460730472580800, "ly light-year light-years light_year light_years lightyears"),
    "au": ("length", 149597870700, "AU astronomical_unit astronomical_units"),
    "m2": ("area", 1, "m² m2 sq_m sqm square_metre square_meter square_metres square_meters Quadratmeter"),
    "km2": ("area", 10**6, "km² km2 sq_km sqkm square_kilometre square_kilometer square_kilometres"
                           " square_kilometers Quadratkilometer"),
    "ha": ("area", 10**4, "ha hectare hectares Hektar"),
    "acre": ("area", F(40468564224, 10**7), "acre acres"),
    "mi2": ("area", F(1609344, 1000) ** 2, "mi² sq_mi sq_miles square_mile square_miles"),
    "ft2": ("area", F(3048, 10000) ** 2, "ft² sq_ft square_foot square_feet"),
    "m3": ("volume", 1, "m³ m3 cubic_metre cubic_meter cubic_metres cubic_meters"),
    "km3": ("volume", 10**9, "km³ cubic_kilometre cubic_kilometer cubic_kilometres cubic_kilometers"),
    "l": ("volume", F(1, 1000), "l L litre liter litres liters"),
    "ml": ("volume", F(1, 10**6), "ml mL millilitre milliliter millilitres milliliters"),
    "gal": ("volume", F(3785411784, 10**12), "gal gallon gallons"),
    "kg": ("mass", 1, "kg kgs kilogram kilograms kilogramme kilogrammes kilo kilos Kilogramm"),
    "g": ("mass", F(1, 1000), "g gram grams gramme grammes Gramm"),
    "mg": ("mass", F(1, 10**6), "mg milligram milligrams"),
    "t": ("mass", 1000, "t tonne tonnes metric_ton metric_tons metric_tonnes Tonnen"),
    "ton": ("mass ton", 1, "ton tons"),
    "lb": ("mass", F(45359237, 10**8), "lb lbs"),
    "oz": ("mass", F(45359237, 16 * 10**8), "oz ounce ounces"),
    "s": ("time", 1, "s sec secs second seconds Sekunden secondes segundos"),
    "ms": ("time", F(1, 1000), "ms millisecond milliseconds"),
    "min": ("time", 60, "min mins minute minutes Minuten minutos"),
    "h": ("time", 3600, "h hr hrs hour hours Stunde Stunden heures horas"),
    "d": ("time", 86400, "day days Tag Tage Tagen jours días"),
    "wk": ("time", 604800, "week weeks Woche Wochen semaines semanas"),
    "fortnight": ("time", 1209600, "fortnight fortnights"),
    "mo": ("months", 1, "month months Monat Monate Monaten mois meses"),
    "yr": ("months", 12, "year years yr yrs Jahr Jahre Jahren ans années años"),
    "decade": ("months", 120, "decade decades"),
    "century": ("months", 1200, "century centuries"),
    "C": ("temperature", 1, "°C ℃ C degrees_Celsius degree_Celsius degrees_C degrees_centigrade Celsius"
                              " Grad_Celsius"),
    "F": ("temperature", F(5, 9), "°F ℉ F degrees_Fahrenheit degree_Fahrenheit degrees_F Fahrenheit"),
    "K": ("temperature", 1, "K kelvin kelvins Kelvin"),
    "km/h": ("speed", F(1000, 3600), "km/h kmh kph km/hr kilometres_per_hour kilometers_per_hour km_per_hour"),
    "m/s": ("speed", 1, "m/s metres_per_second meters_per_second"),
    "km/s": ("speed", 1000, "km/s kilometres_per_second kilometers_per_second"),
    "mph": ("speed", F(1609344, 3600000), "mph miles_per_hour mi/h"),
    "kn": ("speed", F(1852, 3600), "kn knot knots"),
    "W": ("power", 1, "W watt watts"), "kW": ("power", 1000, "kW kilowatt kilowatts"),
    "MW": ("power", 10**6, "MW megawatt megawatts"), "GW": ("power", 10**9, "GW gigawatt gigawatts"),
    "hp": ("horsepower", 1, "hp horsepower bhp"),
    "kWh": ("energy", 3600000, "kWh kilowatt-hours kilowatt_hours"),
    "MWh": ("energy", 3600 * 10**6, "MWh megawatt-hours megawatt_hours"),
    "GWh": ("energy", 3600 * 10**9, "GWh gigawatt-hours gigawatt_hours"),
    "J": ("energy", 1, "J joule joules"), "kJ": ("energy", 1000, "kJ kilojoule kilojoules"),
    "V": ("voltage", 1, "V volt volts"), "A": ("current", 1, "A amp amps ampere amperes"),
    "Pa": ("pressure", 1, "Pa pascal pascals"), "hPa": ("pressure", 100, "hPa mbar hectopascals"),
    "kPa": ("pressure", 1000, "kPa kilopascals"), "bar": ("pressure", 10**5, "bar bars"),
    "Hz": ("frequency", 1, "Hz hertz"), "kHz": ("frequency", 1000, "kHz kilohertz"),
    "MHz": ("frequency", 10**6, "MHz megahertz"), "GHz": ("frequency", 10**9, "GHz gigahertz"),
    "bit": ("data bits", 1, "bit bits"), "Mbit": ("data bits", 10**6, "Mb Mbit megabit megabits"),
    "Gbit": ("data bits", 10**9, "Gb Gbit gigabit gigabits"),
    "bit/s": ("bit rate", 1, "bit/s bps bits_per_second"),
    "kbit/s": ("bit rate", 1000, "kbit/s kbps kb/s kilobits_per_second"),
    "Mbit/s": ("bit rate", 10**6, "Mbit/s Mbps Mb/s megabits_per_second"),
    "Gbit/s": ("bit rate", 10**9, "Gbit/s Gbps Gb/s gigabits_per_second"),
    "MB/s": ("data rate", 10**6, "MB/s MBps megabytes_per_second"),
    "GB/s": ("data rate", 10**9, "GB/s GBps gigabytes_per_second"),
    "g/cm3": ("density", 1000, "g/cm³ g/cm3 g/cc grams_per_cubic_centimetre grams_per_cubic_centimeter g/mL"),
    "kg/m3": ("density", 1, "kg/m³ kg/m3 kilograms_per_cubic_metre kilograms_per_cubic_meter"),
    "kcal": ("energy", 4184, "kcal kilocalories Calories calories"),
    "psi": ("pressure", F(689475729, 10**5), "psi"), "atm": ("pressure", 101325, "atm atmospheres"),
    "g/mol": ("molar mass", 1, "g/mol g·mol⁻¹ g_mol⁻¹ grams_per_mole"),
    "rpm": ("revolutions", 1, "rpm revolutions_per_minute"),
    "ohm": ("resistance", 1, "Ω ohm ohms"), "mAh": ("charge", 1, "mAh milliampere_hours milliamp_hours"),
    "Wh": ("energy", 3600, "Wh watt_hours watt-hours"),
    "fps": ("frames", 1, "fps frames_per_second"),
    "B": ("data", 1, "byte bytes"), "kB": ("data", 1000, "kB KB kilobyte kilobytes"),
    "MB": ("data", 10**6, "MB megabyte megabytes"), "GB": ("data", 10**9, "GB gigabyte gigabytes"),
    "TB": ("data", 10**12, "TB terabyte terabytes"), "KiB": ("data", 1024, "KiB"),
    "MiB": ("data", 1024**2, "MiB"), "GiB": ("data", 1024**3, "GiB"),
    "%": ("percent", 1, "% percent per_cent pct Prozent"),
    "‰": ("permille", 1, "‰ per_mille permille"),
    "pp": ("points", 1, "percentage_point percentage_points"),
    "°": ("angle", 1, "°"),
    "dB": ("sound", 1, "dB decibel decibels"),
}  # fmt: skip
UNITS: dict[str, tuple[str, Fraction]] = {
    spelling.replace("_", " "): (dimension, Fraction(factor))
    for dimension, factor, spellings in _TABLE.values()
    for spelling in spellings.split()
}
"""Dimension and factor by spelling. Spellings of one to three characters are compared with their capitals."""
OFFSETS: dict[str, Fraction] = {
    spelling.replace("_", " "): offset
    for name, offset in (("C", F(27315, 100)), ("F", F(45967, 180)))
    for spelling in _TABLE[name][2].split()
}
"""Zero of a scale of temperature in kelvins, by spelling of the unit."""
UNITS_IN_SMALL = {spelling.casefold(): value for spelling, value in UNITS.items() if len(spelling) > 3}
MAX_UNIT_WORDS = 3
"""Largest number of words in a unit."""
CURRENCIES = {
    spelling.replace("_", " "): code
    for code, spellings in {
        "EUR": "€ EUR euro euros",
        "USD": "US$ USD US_dollar US_dollars U.S._dollars American_dollars",
        "$": "$ dollar dollars",
        "GBP": "£ GBP pound pounds pounds_sterling British_pounds",
        "JPY": "¥ JPY yen",
        "CHF": "CHF Fr. franken Swiss_francs Swiss_franc",
        "CAD": "C$ CAD CA$ Canadian_dollars",
        "AUD": "A$ AUD AU$ Australian_dollars",
        "NZD": "NZ$ NZD", "HKD": "HK$ HKD", "SGD": "S$ SGD",
        "INR": "₹ INR rupees rupee Rs", "CNY": "CNY RMB yuan renminbi", "RUB": "₽ RUB roubles rubles",
        "KRW": "₩ KRW won", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK", "PLN": "PLN zł złoty zlotys",
        "BRL": "R$ BRL reais", "ZAR": "ZAR rand", "DEM": "DM Deutschmarks marks Mark", "MXN": "MXN pesos",
        "cent": "cents cent ¢", "pence": "pence",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
"""ISO code by sign, code or word; `$` where the country is open."""
SCALES: dict[str, int] = {
    **dict.fromkeys(("hundred",), 100),
    **dict.fromkeys(("thousand", "k", "tausend", "mille", "mil"), 10**3),
    **dict.fromkeys(("million", "millions", "mn", "mln", "millionen", "mio", "mio.", "millones", "millón"), 10**6),
    **dict.fromkeys(
        ("billion", "billions", "bn", "milliarden", "milliarde", "mrd", "mrd.", "milliards", "milliard"), 10**9
    ),
    **dict.fromkeys(("trillion", "trillions"), 10**12),
    **dict.fromkeys(("dozen",), 12),
}
"""Factor by scale word."""
SCALE_LETTERS = {"k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "bn": 10**9, "B": 10**9, "b": 10**9, "T": 10**12}
"""Factor by a letter right behind a number; "m" only where there is a currency, since it is a metre too."""
