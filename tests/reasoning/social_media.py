"""The example of section 3.8 of the Sparkwave paper: its query, its streams, its terms."""

from __future__ import annotations

from headrace.rdf.terms import Iri
from tests.shared import DATA

ONTOLOGY = DATA / "fixtures" / "social-media.ttl"
PREFIXES = {
    "twd": "http://twitter.example.org/ns#",
    "sma": "http://socialmedia.example.org/ns#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "fb": "http://facebook.example.org/ns#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "foaf": "http://foaf.example.org/",
    "geo": "http://sws.geonames.org/",
}
FACEBOOK = "http://facebook.example.org/update/stream"
TWITTER = "http://twitter.example.org/update/stream"

QUERY = f"""
REGISTER QUERY MultiplePlaceNotification AS
PREFIX twd: <{PREFIXES["twd"]}>
PREFIX sma: <{PREFIXES["sma"]}>
PREFIX sioc: <{PREFIXES["sioc"]}>
PREFIX fb: <{PREFIXES["fb"]}>
PREFIX rdf: <{PREFIXES["rdf"]}>
SELECT ?tweet ?fbpost ?user
FROM STREAM <{FACEBOOK}> [RANGE 5m STEP 1m]
FROM STREAM <{TWITTER}> [RANGE 5m STEP 1m]
WHERE {{
  ?tweet rdf:type twd:Tweet .
  ?tweet sma:talksAbout ?place .
  ?twitteraccount sioc:creator_of ?tweet .
  ?twitteraccount sioc:account_of ?user .
  ?fbpost rdf:type fb:StatusUpdate .
  ?fbpost sma:talksAbout ?place .
  ?fbaccount sioc:creator_of ?fbpost .
  ?fbaccount sioc:account_of ?user .
}}
"""

POSTS = ("fb:JohnDoe fb:update fb:post123", "fb:post123 fb:mentions geo:2775220")
TWEETS = ("twd:johnd twd:post twd:tweet456", "twd:tweet456 twd:talksAbout geo:2775220")
STATIC = (
    "fb:JohnDoe sioc:account_of foaf:JohnDoe",
    "twd:johnd sioc:account_of foaf:JohnDoe",
)
INFERRED = (
    "twd:tweet456 rdf:type twd:Tweet",
    "twd:tweet456 sma:talksAbout geo:2775220",
    "twd:johnd sioc:creator_of twd:tweet456",
    "fb:post123 rdf:type fb:StatusUpdate",
    "fb:post123 sma:talksAbout geo:2775220",
    "fb:JohnDoe sioc:creator_of fb:post123",
)
"""Figure 4(d)."""


def iri(name: str) -> Iri:
    """A term of the example by its prefixed name."""
    prefix, _, local = name.partition(":")
    return Iri(PREFIXES[prefix] + local)


def n_triples(*statements: str) -> str:
    """Statements of the example as N-Triples."""
    return "".join(f"{' '.join(str(iri(each)) for each in one.split())} .\n" for one in statements)
