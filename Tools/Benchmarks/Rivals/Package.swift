// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let rows: [Target.Dependency] = [.product(name: "BenchmarkRows", package: "Benchmarks")]

// The alternatives to NetKit, in exact versions, so that ratios stay comparable over time.
let package = Package(
    name: "Rivals",
    products: [
        .executable(name: "bench-nio", targets: ["NIORival"]),
        .executable(name: "bench-nio-tls", targets: ["NIOTLSRival"]),
        .executable(name: "bench-ahc", targets: ["AsyncHTTPClientRival"]),
        .executable(name: "bench-hummingbird", targets: ["HummingbirdRival"]),
    ],
    dependencies: [
        .package(name: "Benchmarks", path: ".."),
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", exact: "2.28.1"),
        .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "NIORival",
            dependencies: rows + [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Sources/NIO",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "NIOTLSRival",
            dependencies: rows + [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/NIOTLS",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "AsyncHTTPClientRival",
            dependencies: rows + [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            path: "Sources/AsyncHTTPClient",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "HummingbirdRival",
            dependencies: rows + [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/Hummingbird",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
