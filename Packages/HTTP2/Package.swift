// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let package = Package(
    name: "HTTP2",
    products: [
        .library(name: "HPACK", targets: ["HPACK"]),
        .library(name: "HTTP2", targets: ["HTTP2"]),
    ],
    dependencies: [
        .package(path: "../HTTPMessage")
    ],
    targets: [
        .target(
            name: "HPACK",
            dependencies: [
                .product(name: "HTTPMessage", package: "HTTPMessage")
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTP2",
            dependencies: [
                "HPACK",
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        // For the tests alone: no product contains it.
        .target(name: "HTTP2Testing", swiftSettings: settings),
        .testTarget(
            name: "HPACKTests",
            dependencies: [
                "HPACK",
                "HTTP2Testing",
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTP2Tests",
            dependencies: [
                "HPACK",
                "HTTP2",
                "HTTP2Testing",
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
