// swift-tools-version: 6.2
import PackageDescription

// The reference server as a program. A package of its own, so that building
// the library builds no network stack; the logic in Sources/ReferenceServer is
// shared with the library's tests.
let package = Package(
  name: "tideline-server",
  products: [.executable(name: "tideline-server", targets: ["Program"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "ReferenceServer", dependencies: ["CSQLite"]),
    .executableTarget(
      name: "Program",
      dependencies: [
        "ReferenceServer",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
