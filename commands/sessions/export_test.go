package sessions

// DeviceLabel is deviceLabel.
var DeviceLabel = deviceLabel
