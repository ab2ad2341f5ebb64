"""What the section on vision is made of."""
