/// Programs and devices that intercept TLS, by the names in the certificates that they issue.
enum Interceptors {
    private static let names = [
        "Avast", "AVG", "Barracuda", "Bitdefender", "Blue Coat", "Burp", "Charles Proxy", "Check Point",
        "Cisco Umbrella",
        "DO_NOT_TRUST_FiddlerRoot", "ESET", "FortiGate", "Fortinet", "Forcepoint", "iboss", "Kaspersky",
        "McAfee Web Gateway",
        "mitmproxy", "Netskope", "Palo Alto Networks", "PortSwigger", "Skyhigh", "SonicWall", "Sophos", "Squid",
        "Symantec Web Gateway", "Untangle", "WatchGuard", "Zscaler",
    ]

    /// The interceptor named in an issuer's name; nil if there is none.
    static func name(in issuer: String) -> String? {
        let text = issuer.lowercased()
        return names.first { text.contains($0.lowercased()) }
    }
}
