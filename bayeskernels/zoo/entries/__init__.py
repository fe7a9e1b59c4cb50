"""Problems and models of the zoo. Importing a file adds its entries to the registry."""
