"""The web's accents: HTTP in, `World` asked, bytes out."""
