import FoundationEssentials
import NetDiag

/// Asks why nobody answers at a port where nobody listens.
@main struct Consumer {
    static func main() async throws {
        let loopback = PassiveStatus.current(to: [IPAddress("127.0.0.1")!])
        let diagnosis = try await NetDiagnostic(url: URL(string: "http://127.0.0.1:1/")!).diagnose()
        print(
            "\(loopback.status): \(diagnosis.cause?.code.rawValue ?? "fine"): \(diagnosis.cause?.advice.description ?? "")"
        )
    }
}
