/// Imports, exports and backups, from Swift.
import CTidelineShared

/// What the library reads from, or writes to.
private final class Stream {
  let source: [UInt8]
  let write: (String) -> Void

  init(_ source: [UInt8] = [], write: @escaping (String) -> Void = { _ in }) {
    self.source = source
    self.write = write
  }

  var context: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  static func of(_ context: UnsafeMutableRawPointer?) -> Stream? {
    context.map { Unmanaged<Stream>.fromOpaque($0).takeUnretainedValue() }
  }

  static let drop: tl_drop_hook = { context in
    if let context { Unmanaged<Stream>.fromOpaque(context).release() }
  }
}

extension Client {
  /// Takes messages in, lines or one array.
  public func importMessages(
    _ text: String, name: String, conversation: String = "", isArray: Bool = false
  ) throws -> Work {
    let stream = Stream(Array(text.utf8))
    let handle = try withViews([name, conversation]) { views in
      var config = tl_import()
      config.struct_size = size(tl_import.self)
      config.flags = isArray ? UInt32(TL_IMPORT_ARRAY) : 0
      config.name = views[0]
      config.conversation = views[1]
      config.size = UInt64(stream.source.count)
      config.context = stream.context
      config.drop = Stream.drop
      config.read = { context, offset, bytes, size, got in
        guard let stream = Stream.of(context), let bytes, let got else {
          return tl_status(TL_E_STORAGE)
        }
        let part = stream.source.dropFirst(Int(offset)).prefix(size)
        for (index, byte) in part.enumerated() { bytes[index] = byte }
        got.pointee = part.count
        return tl_status(TL_OK)
      }
      var out: OpaquePointer?
      try check(tl_client_import(self.handle, &config, &out))
      return try handed(out)
    }
    return Work(handle)
  }

  public func imported(_ name: String) throws -> tl_imported {
    var out = tl_imported()
    out.struct_size = size(tl_imported.self)
    try withViews([name]) { try check(tl_client_imported(handle, $0[0], &out)) }
    return out
  }

  /// Lines of no use, and why.
  public func badLines(_ name: String) throws -> [(number: UInt64, reason: String)] {
    var out: OpaquePointer?
    let status = try withViews([name]) { views in
      try check(tl_client_import_bad(handle, views[0], 0, 0, &out))
    }
    guard status == .ok else { return [] }
    let batch = Batch(try handed(out))
    return batch.badLines
  }

  public func export(_ conversation: String, write: @escaping (String) -> Void) throws -> Work {
    let stream = Stream(write: write)
    let handle = try withViews([conversation]) { views in
      var config = tl_export()
      config.struct_size = size(tl_export.self)
      config.conversation = views[0]
      config.context = stream.context
      config.drop = Stream.drop
      config.write = { context, lines in
        Stream.of(context)?.write(lines.string)
        return tl_status(TL_OK)
      }
      var out: OpaquePointer?
      try check(tl_client_export(self.handle, &config, &out))
      return try handed(out)
    }
    return Work(handle)
  }
}

extension Client {
  /// Copies the file to a new one.
  public func backUp(to path: String) throws -> Work {
    var out: OpaquePointer?
    try withViews([path]) { views in _ = try check(tl_client_backup(handle, views[0], &out)) }
    return Work(try handed(out))
  }

  /// Decrypts each page of the file.
  public func checkPages(heal: Bool) throws -> Work {
    var out: OpaquePointer?
    try check(tl_client_check(handle, heal ? 1 : 0, &out))
    return Work(try handed(out))
  }

  /// Erases a conversation, and seals the file anew.
  public func rekey(erasing conversation: String) throws -> Work {
    var out: OpaquePointer?
    try withViews([conversation]) { views in
      _ = try check(tl_client_rekey(handle, views[0], &out))
    }
    return Work(try handed(out))
  }

  /// Reads what it can of a file into a new one.
  public static func salvage(
    _ path: String, key: [UInt8], user: String = "me", to target: String
  ) throws -> Work {
    let handle = try withViews([path, user, target].map { Array($0.utf8) } + [key]) { views in
      var config = tl_client_config()
      config.struct_size = size(tl_client_config.self)
      config.path = views[0]
      config.user_id = views[1]
      config.key = views[3]
      var out: OpaquePointer?
      _ = try check(tl_salvage(&config, views[2], &out))
      return try handed(out)
    }
    return Work(handle)
  }
}

extension Batch {
  var badLines: [(number: UInt64, reason: String)] {
    var count = 0
    guard let lines = tl_batch_bad_lines(handle, &count) else { return [] }
    return UnsafeBufferPointer(start: lines, count: count).map { ($0.number, $0.reason.string) }
  }
}
