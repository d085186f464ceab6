/// Values by key, in the order in which they came: searched through while they are few, as in
/// most commits, and by hash when they are many.

struct SmallDictionary<Key: Hashable, Value> {
  /// Keys that are searched through.
  private static var shortMax: Int { 8 }

  private(set) var keys: [Key] = []
  private var values: [Value] = []
  /// All keys, once they are many.
  private var index: [Key: Int] = [:]

  var isEmpty: Bool { keys.isEmpty }

  private func place(of key: Key) -> Int? {
    keys.count > Self.shortMax ? index[key] : keys.lastIndex(of: key)
  }

  /// Nil where nothing came under that key.
  func value(_ key: Key) -> Value? {
    place(of: key).map { values[$0] }
  }

  /// The value of a key, `initial` where there is none yet.
  subscript(key: Key, default initial: @autoclosure () -> Value) -> Value {
    get { value(key) ?? initial() }
    _modify {
      let place = place(of: key) ?? append(key, initial())
      yield &values[place]
    }
  }

  private mutating func append(_ key: Key, _ value: Value) -> Int {
    let place = keys.count
    keys.append(key)
    values.append(value)
    if keys.count == Self.shortMax + 1 {
      for (place, key) in keys.enumerated() { index[key] = place }
    } else if keys.count > Self.shortMax {
      index[key] = place
    }
    return place
  }
}
