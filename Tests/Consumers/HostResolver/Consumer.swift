import HostResolver

/// Resolves names that need no network, and prints what an error says.
@main struct Consumer {
    static func main() async throws {
        let resolver = SystemResolver.shared
        let numeric = try await resolver.addresses(of: "127.0.0.1")
        let local = try await resolver.addresses(of: "localhost", until: .now + .seconds(5))
        let listed = numeric.map(\.description).joined(separator: " ")
        do {
            _ = try await resolver.addresses(of: "no such name")
        } catch {
            print("127.0.0.1 is \(listed), localhost has an address: \(!local.isEmpty), and: \(error)")
        }
    }
}
