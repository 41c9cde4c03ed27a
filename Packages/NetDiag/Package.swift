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
    name: "NetDiag",
    products: [
        .library(name: "NetDiag", targets: ["NetDiag"])
    ],
    dependencies: [
        .package(path: "../HTTPMessage"),
        .package(path: "../HostResolver"),
        .package(path: "../StreamKit"),
    ],
    targets: [
        .target(
            name: "NetDiag",
            dependencies: [
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NetDiagTests",
            dependencies: [
                "NetDiag",
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "HostResolverTesting", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
