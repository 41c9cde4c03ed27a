import EventLoops
import Foundation
import Testing

@testable import CredentialStores

@Suite(.timeLimit(.minutes(5))) struct LibcryptoSetupTests {
    /// With libcrypto's own handler for the end of the process, this crashed almost always.
    @Test func aProcessEndsWhileThreadsDeriveKeys() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<8 {
                let begun = OneShot<Void>()
                Thread.detachNewThread {
                    while true {
                        _ = try? SealedBox.deriveKeys(.passphrase(Secret("phrase")), salt: [1], cost: 1)
                        begun.provide(())
                    }
                }
                try await begun.value()
            }
            exit(0)
        }
    }
}
