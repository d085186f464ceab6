print("no simulator yet")
