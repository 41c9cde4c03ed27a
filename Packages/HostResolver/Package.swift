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
    name: "HostResolver",
    products: [
        .library(name: "IPAddresses", targets: ["IPAddresses"]),
        .library(name: "DNSWire", targets: ["DNSWire"]),
        .library(name: "HostResolver", targets: ["HostResolver"]),
        .library(name: "HostResolverTesting", targets: ["HostResolverTesting"]),
    ],
    dependencies: [
        .package(path: "../EventLoops")
    ],
    targets: [
        .target(name: "IPAddresses", swiftSettings: settings),
        .target(name: "DNSWire", dependencies: ["IPAddresses"], swiftSettings: settings),
        .target(
            name: "HostResolver",
            dependencies: ["DNSWire", "IPAddresses", .product(name: "EventLoops", package: "EventLoops")],
            swiftSettings: settings
        ),
        .target(name: "CHostResolverTesting"),
        .target(
            name: "HostResolverTesting",
            dependencies: [
                "CHostResolverTesting", "HostResolver", .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HostResolverTests",
            dependencies: [
                "DNSWire", "HostResolver", "HostResolverTesting", "IPAddresses",
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
