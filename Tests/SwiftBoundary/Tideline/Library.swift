/// What needs no client.
import CTidelineShared

public enum Library {
  /// Whether the loaded library is of the generation of the header that this was compiled with.
  public static var isOfThisGeneration: Bool { tl_abi() == UInt32(TL_ABI) }

  public static var version: String {
    let version = tl_version()
    return "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
  }

  public static var keyBytes: Int { tl_key_bytes() }

  /// Which account a frame is for, or nil where it names none.
  public static func account(of frame: String) throws -> String? {
    try withViews([frame]) { views in
      var out = tl_view()
      return try check(tl_frame_account(views[0], &out)) == .ok ? out.string : nil
    }
  }

  /// The checksum of a list of rows, by which a host sees that it has applied a difference rightly.
  public static func checksum(_ numbers: [UInt64]) -> UInt64 {
    tl_checksum(numbers, numbers.count)
  }

  /// Merges two JSON arrays of messages. Unreadable items are left out, which is told.
  public static func merge(_ base: String, _ more: String) throws -> (json: String, isWhole: Bool) {
    try withViews([base, more]) { views in
      var out: UnsafeMutablePointer<tl_text>?
      let status = try check(tl_merge_messages(views[0], views[1], &out))
      guard let out else { return ("", false) }
      return (Text(out).string, status == .ok)
    }
  }

  /// Merges changes into a JSON array of messages.
  public static func merge(
    _ base: String, deltas: String
  ) throws -> (json: String, isWhole: Bool) {
    try withViews([base, deltas]) { views in
      var out: UnsafeMutablePointer<tl_text>?
      let status = try check(tl_merge_deltas(views[0], views[1], &out))
      guard let out else { return ("", false) }
      return (Text(out).string, status == .ok)
    }
  }
}
