/// The versions of the packages that the tool is made of; `Scripts/check` compares them with the change logs.
enum PackageVersions {
    /// Each package with the version that it has, or is on its way to.
    static let all = [
        ("EventLoops", "0.1.0"),
        ("FTPStream", "0.1.0"),
        ("HTTPAuth", "0.1.0"),
        ("HTTPMessage", "0.1.0"),
        ("HostResolver", "0.1.0"),
        ("NetDiag", "0.1.0"),
        ("NetKit", "0.1.0"),
        ("ServiceDiscovery", "0.1.0"),
        ("StreamKit", "0.1.0"),
    ]

    /// What `netkit --version` prints: the umbrella's version, and below it those of its parts.
    static var text: String {
        let own = all.first { $0.0 == "NetKit" }?.1 ?? ""
        let parts = all.filter { $0.0 != "NetKit" }.map { "  \($0.0) \($0.1)" }
        return (["netkit \(own)"] + parts).joined(separator: "\n")
    }
}
