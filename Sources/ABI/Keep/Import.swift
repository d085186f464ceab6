// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keep" of the header: imports and exports.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_import")
public func tl_client_import(
  _ client: OpaquePointer?, _ config: UnsafePointer<tl_import>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    let config = try unsafe read(config, zero: tl_import())
    let reader = unsafe ImportReader(config)
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let source = try unsafe ImportSource(config, reader)
    unsafe out.pointee = Handle.new(try Importer(client).start(source))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_imported")
public func tl_client_imported(
  _ client: OpaquePointer?, _ name: tl_view, _ out: UnsafeMutablePointer<tl_imported>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try unsafe write(out) { () throws(Failure) in
      guard let found = try Importer(client).status(unsafe name.id("name")) else {
        throw .notFound("there is no import of this name")
      }
      return tl_imported(found)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_import_bad")
public func tl_client_import_bad(
  _ client: OpaquePointer?, _ name: tl_view, _ after: UInt64, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let limit = try count(
      limit, zero: 100, atMost: Limits.readRowsMax, "limit is over 10,000")
    let found = try Importer(client).bad(unsafe name.id("name"), after: after, limit: limit)
    if found.isEmpty { return nil }
    return unsafe try Batch.new(found)
  }
}

@implementation @_cdecl("tl_batch_bad_lines")
public func tl_batch_bad_lines(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_bad_line>? {
  unsafe Batch.contents(batch, .badLines, count)
}

@implementation @_cdecl("tl_client_export")
public func tl_client_export(
  _ client: OpaquePointer?, _ config: UnsafePointer<tl_export>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    let config = try unsafe read(config, zero: tl_export())
    let writer = unsafe ExportWriter(config)
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard unsafe config.flags == 0 else { throw .invalid("flags has an unknown flag") }
    guard unsafe config.write != nil else { throw .invalid("write is NULL") }
    let work = try Exporter(client).start(unsafe config.conversation.id("conversation")) {
      text throws(Failure) in try writer.write(text)
    }
    unsafe out.pointee = Handle.new(work)
    return status(TL_OK)
  }
}

// The contexts belong to the host, which promises that its functions may be called from any thread
// that steps the work; `drop` runs when no call is left.
@safe private final class ImportReader: @unchecked Sendable {
  private let config: tl_import

  init(_ config: tl_import) { unsafe self.config = config }

  deinit {
    if let drop = unsafe config.drop { unsafe drop(config.context) }
  }

  func read(_ offset: UInt64, _ most: Int) throws(Failure) -> [UInt8] {
    guard let read = unsafe config.read else { throw .invalid("read is NULL") }
    var bytes = [UInt8](repeating: 0, count: most)
    var got = 0
    let code = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe read(config.context, offset, buffer.baseAddress, most, &got)
    }
    guard code == status(TL_OK), (0...most).contains(got) else {
      throw .host("the host's function that reads the source failed")
    }
    bytes.removeLast(most &- got)
    return bytes
  }
}

// As that of an import.
@safe private final class ExportWriter: @unchecked Sendable {
  private let config: tl_export

  init(_ config: tl_export) { unsafe self.config = config }

  deinit {
    if let drop = unsafe config.drop { unsafe drop(config.context) }
  }

  func write(_ text: [UInt8]) throws(Failure) {
    guard let write = unsafe config.write else { throw .invalid("write is NULL") }
    let code = unsafe text.withUnsafeBufferPointer { buffer in
      unsafe write(config.context, tl_view(data: buffer.baseAddress, size: buffer.count))
    }
    guard code == status(TL_OK) else {
      throw .host("the host's function that writes the lines failed")
    }
  }
}

extension ImportSource {
  fileprivate init(_ config: tl_import, _ reader: ImportReader) throws(Failure) {
    let flags = unsafe config.flags
    let array = UInt32(truncatingIfNeeded: TL_IMPORT_ARRAY)
    let isRead = UInt32(truncatingIfNeeded: TL_IMPORT_READ)
    let again = UInt32(truncatingIfNeeded: TL_IMPORT_AGAIN)
    guard flags & ~(array | isRead | again) == 0 else {
      throw .invalid("flags has an unknown flag of an import")
    }
    guard unsafe config.read != nil else { throw .invalid("read is NULL") }
    self.init(
      name: try unsafe config.name.id("name"),
      conversation: try unsafe config.conversation.size == 0
        ? [] : config.conversation.id("conversation")
    ) { offset, most throws(Failure) in try reader.read(offset, most) }
    isArray = flags & array != 0
    self.isRead = flags & isRead != 0
    beginsAnew = flags & again != 0
    size = unsafe config.size
  }
}

extension tl_imported {
  fileprivate init(_ status: ImportStatus) {
    self.init(
      struct_size: 0, flags: status.isDone ? UInt32(truncatingIfNeeded: TL_IMPORTED_DONE) : 0,
      lines: status.lines, inserted: status.inserted, known: status.known, bad: status.bad,
      offset: status.offset)
  }
}
