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
    name: "HTTPAuth",
    products: [
        .library(name: "HTTPAuth", targets: ["HTTPAuth"]),
        .library(name: "CredentialStores", targets: ["CredentialStores"]),
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HTTPMessage"),
    ],
    targets: [
        .target(name: "CGSSAPI"),
        .systemLibrary(name: "CLibcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "HTTPAuth",
            dependencies: [
                "CGSSAPI", "CLibcrypto",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CredentialStores",
            dependencies: [
                "CLibcrypto", "HTTPAuth",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        // For the tests alone: no product contains it.
        .target(name: "HTTPAuthTesting", dependencies: ["HTTPAuth"], swiftSettings: settings),
        .testTarget(
            name: "HTTPAuthTests",
            dependencies: [
                "HTTPAuth", "HTTPAuthTesting",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CredentialStoresTests",
            dependencies: [
                "CredentialStores", "HTTPAuthTesting",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
