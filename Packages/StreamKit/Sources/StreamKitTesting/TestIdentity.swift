public import StreamKit

/// A self-signed certificate for 127.0.0.1, valid until 2126, for TLS servers in tests.
///
/// ```swift
/// var configuration = StreamListener.Configuration()
/// configuration.tls = try TestIdentity.server()
/// let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
/// let clients = try TestIdentity.trusted()        // for the property `tls` of the clients
/// ```
///
/// Its key is public. Nothing but a test may trust it.
public enum TestIdentity {
    /// Returns the certificate and its key.
    public static func make() throws(StreamError) -> TLSIdentity { try TLSIdentity(pem: pem) }

    /// Returns the configuration of a server with this certificate.
    public static func server() throws(StreamError) -> TLSConfiguration {
        var tls = TLSConfiguration()
        tls.role = .server
        tls.identity = try make()
        return tls
    }

    /// Returns the configuration of a client that trusts only this certificate.
    public static func trusted() throws(StreamError) -> TLSConfiguration {
        var tls = TLSConfiguration()
        tls.trust = .only(try make().certificates)
        return tls
    }

    /// The certificate and its key as PEM text.
    public static let pem = Array(
        """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6vZ6sbur6JvMXdUq
        XOVcRUNkQ2MkFmsf31Ei09Le+uWhRANCAARBrKDMxpETR/RlipxP4MZk2yuq9vbb
        j+4Vlj2dGGCCAUexXnt5/CixDeGUHWDZxkeWbEKr/w2uTYDc09KidR1N
        -----END PRIVATE KEY-----
        -----BEGIN CERTIFICATE-----
        MIIBlDCCATqgAwIBAgIUE4G9OZuxr65ME5HCt7i8CrBobEUwCgYIKoZIzj0EAwIw
        FjEUMBIGA1UEAwwLTmV0S2l0VGVzdHMwIBcNMjYxMTIyMjExNTU1WhgPMjEyNjEw
        MjkyMTE1NTVaMBYxFDASBgNVBAMMC05ldEtpdFRlc3RzMFkwEwYHKoZIzj0CAQYI
        KoZIzj0DAQcDQgAEQaygzMaRE0f0ZYqcT+DGZNsrqvb224/uFZY9nRhgggFHsV57
        efwosQ3hlB1g2cZHlmxCq/8Nrk2A3NPSonUdTaNkMGIwHQYDVR0OBBYEFCvKh1z/
        6nG5hcxYAwt73bnD8RrZMB8GA1UdIwQYMBaAFCvKh1z/6nG5hcxYAwt73bnD8RrZ
        MA8GA1UdEwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNI
        ADBFAiEApQF3Gu7Sv0/Id3isR2m30s5tVA0wbj91POVaTqSDAbECIBj3X1+obmuq
        IAM0Czi1WcySxbMTeriaRkdRP0QiXiYt
        -----END CERTIFICATE-----
        """.utf8)
}
