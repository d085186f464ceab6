/// What a process knows beside its file, as text: each stored value by its path.
///
/// It reads the compiler's metadata of a type, so a new field is compared without being named
/// here. Debug builds have that metadata; the released library does not.
internal import Foundation

struct MemoryText {
  /// Of what is not memory: the file, what the host has set, and tests themselves.
  private static let skipped: Set<String> = ["store", "config", "windows"]

  private(set) var lines: [String] = []
  private var seen: Set<ObjectIdentifier> = []

  init(of engine: AnyObject) {
    for child in Swift.Mirror(reflecting: engine).children {
      let name = child.label ?? ""
      if !Self.skipped.contains(name) { walk(child.value, name) }
    }
  }

  /// The lines that one of two states has and the other has not.
  static func differences(_ before: MemoryText, _ after: MemoryText) -> [String] {
    let (old, new) = (Set(before.lines), Set(after.lines))
    return before.lines.filter { !new.contains($0) }.map { "- \($0)" }
      + after.lines.filter { !old.contains($0) }.map { "+ \($0)" }
  }

  private mutating func walk(_ value: Any, _ path: String) {
    if let bytes = value as? [UInt8] {
      return lines.append("\(path) = \(String(decoding: bytes, as: UTF8.self))")
    }
    let mirror = Swift.Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .class:
      guard seen.insert(ObjectIdentifier(value as AnyObject)).inserted else { return }
      walk(children: mirror.children, path)
    case .optional:
      if let some = mirror.children.first {
        walk(some.value, path)
      } else {
        lines.append("\(path) = nil")
      }
    case .set, .dictionary:
      // In no order: each element is told by all that it holds.
      lines.append("\(path) holds \(mirror.children.count)")
      for child in mirror.children {
        lines.append("\(path) holds \(Self.text(of: child.value))")
      }
    case .collection:
      lines.append("\(path) holds \(mirror.children.count)")
      for (index, child) in mirror.children.enumerated() { walk(child.value, "\(path)[\(index)]") }
    case .enum:
      guard let payload = mirror.children.first else {
        return lines.append("\(path) = \(value)")
      }
      lines.append("\(path) is \(payload.label ?? "")")
      walk(payload.value, "\(path).\(payload.label ?? "")")
    default:
      if mirror.children.isEmpty { return lines.append("\(path) = \(value)") }
      walk(children: mirror.children, path)
    }
  }

  private mutating func walk(children: Swift.Mirror.Children, _ path: String) {
    for child in children { walk(child.value, "\(path).\(child.label ?? "")") }
  }

  private static func text(of value: Any) -> String {
    var one = MemoryText()
    one.walk(value, "")
    return one.lines.sorted().joined(separator: " ")
  }

  private init() {}
}
