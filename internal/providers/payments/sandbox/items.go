package sandbox

// subscriptionOf returns the subscription that has an item.
func (w *work) subscriptionOf(itemID string) (*subscription, error) {
	all, err := list[subscription](w, "")
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.item().ID == itemID {
			return s, nil
		}
	}
	return nil, w.missing("si", itemID)
}

func getItem(w *work) (any, error) {
	s, err := w.subscriptionOf(w.id)
	if err != nil {
		return nil, err
	}
	return s.item(), nil
}

func listItems(w *work) (any, error) {
	s, err := find[subscription](w, w.form.Required("subscription"))
	if err != nil {
		return nil, err
	}
	w.form.Int("limit", usualPage)
	return s.Items, nil
}

func updateItem(w *work) (any, error) {
	s, err := w.subscriptionOf(w.id)
	if err != nil {
		return nil, err
	}
	if s.over() {
		return nil, invalid("", "", "The subscription of the item has ended.")
	}
	if _, err := w.change(s, w.form); err != nil {
		return nil, err
	}
	return getItem(w)
}
