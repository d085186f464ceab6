/// The room Store.
