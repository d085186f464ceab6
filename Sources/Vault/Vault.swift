/// The room Vault.
