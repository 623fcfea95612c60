package eventnode

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
)

// serverVersion is the EventStoreDB version whose behaviour the node follows. Clients expect three integers.
const serverVersion = "24.6.0"

// featuresService serves event_store.client.server_features.ServerFeatures, which clients call when they connect.
type featuresService struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods returns the methods of the node, in lower case as EventStoreDB does.
func (featuresService) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	const streams = "event_store.client.streams.streams"
	return &serverfeatures.SupportedMethods{
		EventStoreServerVersion: serverVersion,
		Methods: []*serverfeatures.SupportedMethod{
			{ServiceName: streams, MethodName: "append"},
			{ServiceName: streams, MethodName: "read"},
			{ServiceName: streams, MethodName: "delete"},
			{ServiceName: streams, MethodName: "tombstone"},
			{ServiceName: "event_store.client.server_features.serverfeatures", MethodName: "getsupportedmethods"},
		},
	}, nil
}
